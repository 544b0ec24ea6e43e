[(function) (pipeline) (record) (list) (arguments)] @fold
