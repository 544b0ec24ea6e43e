" Vim syntax file: the pipelines that pipec compiles. Made from editor/templates/pipe.vim.
if exists('b:current_syntax')
  finish
endif

syn case match
syn iskeyword @,48-57,_

syn match pipeName /\<[A-Za-z_]\w*\>/
syn match pipeCall /\<[A-Za-z_]\w*\>\ze\s*(/
syn match pipeStage /\(|>\s*\)\@<=\<[A-Za-z_]\w*\>/
syn match pipeFunction /\<\(draw_trivial_augment\|random_gaussian_blur\|random_resized_crop\|perspective_matrix\|random_perspective\|adjust_brightness\|adjust_saturation\|decode_jpeg_draft\|draw_auto_augment\|draw_rand_augment\|draw_resized_crop\|adjust_sharpness\|decode_jpeg_crop\|draw_perspective\|tokenize_dropout\|adjust_contrast\|ssd_random_crop\|trivial_augment\|vocabulary_size\|channels_first\|fill_in_middle\|folder_name_of\|normalize_text\|random_uniform\|adjust_colors\|affine_matrix\|channels_last\|count_matches\|draw_iou_crop\|gaussian_blur\|match_anchors\|random_affine\|random_flip_y\|random_normal\|random_rotate\|resize_within\|untyped_field\|untyped_slice\|adjust_gamma\|auto_augment\|autocontrast\|color_jitter\|decode_image\|draw_aug_mix\|extension_of\|rand_augment\|random_erase\|random_index\|resize_boxes\|resize_short\|center_crop\|color_space\|crop_points\|decode_jpeg\|decode_text\|decode_webp\|draw_affine\|draw_jitter\|encode_jpeg\|encode_webp\|flip_points\|jpeg_extent\|mask_tokens\|median_blur\|motion_blur\|parse_float\|parse_table\|permutation\|perspective\|random_crop\|random_flip\|random_sign\|replace_all\|resize_crop\|resize_long\|resize_span\|starts_with\|text_concat\|translate_x\|translate_y\|uniform_int\|warp_points\|adjust_hue\|boxes_from\|clip_boxes\|crop_boxes\|decode_npy\|decode_png\|decompress\|detokenize\|draw_erase\|encode_png\|flip_boxes\|jpeg_noise\|keep_boxes\|parse_json\|random_box\|resize_all\|short_size\|untyped_at\|warp_boxes\|word_count\|add_noise\|box_areas\|bucketize\|draw_crop\|ends_with\|erase_box\|five_crop\|folder_of\|grayscale\|html_text\|jpeg_size\|letterbox\|normalize\|parse_int\|partnered\|posterize\|rasterize\|read_file\|read_text\|substring\|transpose\|box_area\|box_mask\|boxes_to\|class_of\|contains\|count_of\|equalize\|flip_all\|index_of\|read_npy\|round_to\|solarize\|token_id\|tokenize\|word_ids\|zoom_out\|as_type\|aug_mix\|augment\|collage\|elastic\|guarded\|matches\|maximum\|minhash\|minimum\|name_of\|one_hot\|read_as\|replace\|reshape\|shear_x\|shear_y\|sibling\|stem_of\|take_at\|text_eq\|text_in\|text_lt\|text_of\|uniform\|affine\|arange\|argmax\|argmin\|concat\|cumsum\|cutmix\|cutout\|expand\|extent\|extern\|flip_x\|flip_y\|gather\|invert\|lookup\|mosaic\|normal\|plasma\|resize\|rotate\|select\|to_str\|clahe\|clamp\|embed\|erase\|floor\|lower\|mixup\|remap\|round\|shape\|slice\|stack\|strip\|upper\|zeros\|beta\|bf16\|bool\|busy\|ceil\|chat\|coin\|crop\|full\|hash\|lerp\|mean\|ones\|prod\|sqrt\|tanh\|warp\|abs\|all\|any\|cos\|exp\|f16\|f32\|f64\|i16\|i32\|i64\|iou\|len\|log\|max\|min\|pad\|pow\|sin\|sum\|u16\|u32\|u64\|i8\|u8\)\>\ze\s*(/
syn match pipeOperator /\(|>\s*\)\@<=\<\(companions\|moments\|shuffle\|windows\|concat\|dedupe\|repeat\|sample\|batch\|count\|join\|pack\|skip\|take\|mix\|zip\)\>/
syn match pipeSource /\<\(documents\|tfrecord\|parquet\|records\|extern\|arrow\|files\|jsonl\|lines\|paths\|range\|coco\|hdf5\|csv\|mds\|npy\|npz\|tar\)\>\ze\s*(/
syn match pipeType /\<\(bytes\|bf16\|bool\|f16\|f32\|f64\|i16\|i32\|i64\|str\|u16\|u32\|u64\|i8\|u8\)\>\ze\s*\[/
syn match pipeType /\(\<as\s\+\|->\s*\)\@<=\<[A-Za-z_]\w*\>/
syn match pipeField /\<[A-Za-z_]\w*\>\ze\s*:/
syn keyword pipeKeyword param const fn extern pipeline use edition map flat_map with where if then else and or not in as for true false
syn match pipePolicy /\(\<else\s\+\)\@<=\<\(another\|fail\|skip\)\>/
syn match pipeDefinition /\(\<\(param\|const\|fn\|pipeline\)\s\+\)\@<=\<[A-Za-z_]\w*\>/
syn keyword pipeBoolean true false
syn match pipeNumber /\<\d\(_\?\d\)*\(\.\d\(_\?\d\)*\)\?\([eE][+-]\?\d\+\)\?\(GiB\|KiB\|MHz\|MiB\|TiB\|kHz\|min\|GB\|Hz\|MB\|TB\|kB\|ms\|ns\|us\|B\|h\|s\)\?\>/
syn region pipeText start=/"/ skip=/\\./ end=/"\|$/ contains=pipeHole,pipeEscape oneline
syn region pipeText start=/'/ end=/'\|$/ oneline
syn match pipeHole /{[A-Za-z_]\w*}/ contained
syn match pipeEscape /\\\(["\\nt]\|u{\x\{1,6}}\)/ contained
syn match pipeSign /|>\|->\|\.\.\|[-+*\/%=<>!?|]/
syn match pipeComment /#.*$/
syn match pipeDoc /##\(#\)\@!.*$/

hi def link pipeKeyword Keyword
hi def link pipePolicy Keyword
hi def link pipeDefinition Identifier
hi def link pipeCall Function
hi def link pipeStage Function
hi def link pipeFunction Function
hi def link pipeOperator Function
hi def link pipeSource Function
hi def link pipeField Label
hi def link pipeType Type
hi def link pipeNumber Number
hi def link pipeBoolean Boolean
hi def link pipeText String
hi def link pipeHole Special
hi def link pipeEscape SpecialChar
hi def link pipeSign Operator
hi def link pipeComment Comment
hi def link pipeDoc SpecialComment

let b:current_syntax = 'pipe'
