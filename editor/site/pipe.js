// Colours the pipelines on the site, with mdBook's highlight.js. Made from editor/templates/pipe.js.
(function () {
  const name = "[A-Za-z_]\\w*";
  const interpolated = { className: "subst", begin: "\\{" + name + "\\}" };
  const escaped = { className: "symbol", begin: /\\(["\\nt]|u\{[0-9A-Fa-f]{1,6}\})/ };
  const pipe = {
    name: "pipe",
    keywords: {
      $pattern: name,
      keyword: "param|const|fn|extern|pipeline|use|edition|map|flat_map|with|where|if|then|else|and|or|not|in|as|for|true|false".split("|").join(" "),
      literal: "true false",
    },
    contains: [
      { className: "comment", begin: "#", end: "$" },
      { className: "string", begin: '"', end: '"|$', contains: [escaped, interpolated] },
      { className: "string", begin: "'", end: "'|$" },
      { className: "keyword", begin: "\\belse\\s+(another|fail|skip)\\b" },
      { className: "number", begin: "\\b\\d(_?\\d)*(\\.\\d(_?\\d)*)?([eE][+-]?\\d+)?(GiB|KiB|MHz|MiB|TiB|kHz|min|GB|Hz|MB|TB|kB|ms|ns|us|B|h|s)?\\b" },
      { className: "built_in", begin: "\\b(random_gaussian_blur|random_resized_crop|perspective_matrix|random_perspective|adjust_brightness|adjust_saturation|decode_jpeg_draft|draw_resized_crop|decode_jpeg_crop|draw_perspective|tokenize_dropout|adjust_contrast|vocabulary_size|channels_first|fill_in_middle|folder_name_of|normalize_text|random_uniform|adjust_colors|affine_matrix|channels_last|count_matches|gaussian_blur|random_affine|random_flip_y|random_normal|random_rotate|resize_within|untyped_field|untyped_slice|color_jitter|decode_image|extension_of|random_index|resize_short|center_crop|decode_jpeg|decode_text|decode_webp|draw_affine|draw_jitter|encode_jpeg|encode_webp|jpeg_extent|mask_tokens|parse_float|parse_table|permutation|perspective|random_crop|random_flip|random_sign|replace_all|resize_crop|resize_long|resize_span|starts_with|text_concat|translate_x|translate_y|uniform_int|warp_points|adjust_hue|decode_npy|decode_png|decompress|detokenize|encode_png|parse_json|random_box|short_size|untyped_at|word_count|bucketize|documents|draw_crop|ends_with|five_crop|folder_of|grayscale|html_text|jpeg_size|letterbox|normalize|parse_int|partnered|read_file|read_text|substring|transpose|box_area|box_mask|class_of|contains|count_of|index_of|read_npy|round_to|tfrecord|token_id|tokenize|word_ids|as_type|collage|elastic|guarded|matches|maximum|minhash|minimum|moments|name_of|one_hot|parquet|read_as|records|replace|reshape|shear_x|shear_y|shuffle|sibling|stem_of|take_at|text_eq|text_in|text_lt|text_of|uniform|windows|affine|arange|argmax|argmin|concat|cumsum|dedupe|expand|extent|extern|flip_x|flip_y|gather|lookup|normal|plasma|repeat|resize|rotate|sample|select|to_str|arrow|batch|clamp|count|embed|files|floor|jsonl|lines|lower|paths|range|remap|round|shape|slice|stack|strip|upper|zeros|beta|bf16|bool|busy|ceil|chat|coco|coin|crop|full|hash|hdf5|join|lerp|mean|ones|pack|prod|skip|sqrt|take|tanh|warp|abs|all|any|cos|csv|exp|f16|f32|f64|i16|i32|i64|len|log|max|mds|min|mix|npy|npz|pad|pow|sin|sum|tar|u16|u32|u64|zip|i8|u8)\\b(?=\\s*\\()" },
      { begin: "\\|>\\s*", contains: [{ className: "built_in", begin: "\\b(random_gaussian_blur|random_resized_crop|perspective_matrix|random_perspective|adjust_brightness|adjust_saturation|decode_jpeg_draft|draw_resized_crop|decode_jpeg_crop|draw_perspective|tokenize_dropout|adjust_contrast|vocabulary_size|channels_first|fill_in_middle|folder_name_of|normalize_text|random_uniform|adjust_colors|affine_matrix|channels_last|count_matches|gaussian_blur|random_affine|random_flip_y|random_normal|random_rotate|resize_within|untyped_field|untyped_slice|color_jitter|decode_image|extension_of|random_index|resize_short|center_crop|decode_jpeg|decode_text|decode_webp|draw_affine|draw_jitter|encode_jpeg|encode_webp|jpeg_extent|mask_tokens|parse_float|parse_table|permutation|perspective|random_crop|random_flip|random_sign|replace_all|resize_crop|resize_long|resize_span|starts_with|text_concat|translate_x|translate_y|uniform_int|warp_points|adjust_hue|decode_npy|decode_png|decompress|detokenize|encode_png|parse_json|random_box|short_size|untyped_at|word_count|bucketize|documents|draw_crop|ends_with|five_crop|folder_of|grayscale|html_text|jpeg_size|letterbox|normalize|parse_int|partnered|read_file|read_text|substring|transpose|box_area|box_mask|class_of|contains|count_of|index_of|read_npy|round_to|tfrecord|token_id|tokenize|word_ids|as_type|collage|elastic|guarded|matches|maximum|minhash|minimum|moments|name_of|one_hot|parquet|read_as|records|replace|reshape|shear_x|shear_y|shuffle|sibling|stem_of|take_at|text_eq|text_in|text_lt|text_of|uniform|windows|affine|arange|argmax|argmin|concat|cumsum|dedupe|expand|extent|extern|flip_x|flip_y|gather|lookup|normal|plasma|repeat|resize|rotate|sample|select|to_str|arrow|batch|clamp|count|embed|files|floor|jsonl|lines|lower|paths|range|remap|round|shape|slice|stack|strip|upper|zeros|beta|bf16|bool|busy|ceil|chat|coco|coin|crop|full|hash|hdf5|join|lerp|mean|ones|pack|prod|skip|sqrt|take|tanh|warp|abs|all|any|cos|csv|exp|f16|f32|f64|i16|i32|i64|len|log|max|mds|min|mix|npy|npz|pad|pow|sin|sum|tar|u16|u32|u64|zip|i8|u8)\\b" }] },
      { className: "type", begin: "\\b(bytes|bf16|bool|f16|f32|f64|i16|i32|i64|str|u16|u32|u64|i8|u8)\\b(?=\\s*\\[)" },
      { className: "attr", begin: name + "(?=\\s*:)" },
    ],
  };
  hljs.registerLanguage("pipe", () => pipe);
  document.querySelectorAll("code.language-pipe").forEach((block) => {
    // Without what was guessed before the language was known.
    block.textContent = block.textContent;
    hljs.highlightBlock(block);
  });
})();
