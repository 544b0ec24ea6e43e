/* Writes `progressive.tsv`: small progressive JPEGs, whose scans are drawn at random, and what libjpeg-turbo
 * makes of them.
 *
 *     cc -O2 make.c -o make -ljpeg && ./make > progressive.tsv
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <jpeglib.h>

enum { FILES = 20, SIDE_MAX = 40, SCANS_MAX = 200, BANDS_MAX = 5 };

/* SplitMix64. */
static unsigned below(unsigned n)
{
    static uint64_t state = 26;
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (z ^ z >> 31) % n;
}

static jpeg_scan_info scan(int first, int n, int ss, int se, int ah, int al)
{
    jpeg_scan_info it = { n, { 0 }, ss, se, ah, al };
    for (int i = 0; i < n; i++)
        it.component_index[i] = first + i;
    return it;
}

/* Coefficients of a component, and the bits that are left: -1 before the first scan. */
struct band { int component, n, ss, se, left, first; };

/* The scans of so many components, in an order that may be. */
static int script(int components, jpeg_scan_info *to)
{
    struct band bands[3 * (BANDS_MAX + 1)];
    int n = 0, open = 0, written = 0, shift = below(3), together = below(2);
    for (int i = 0; i < components; i++) {
        int ss = 1, pieces = 1 + below(BANDS_MAX);
        for (int k = 0; k < pieces; k++) {
            int se = k == pieces - 1 ? 63 : ss + (int)below(8);
            bands[n++] = (struct band){ i, 1, ss, se, -1, below(4) };
            ss = se + 1;
        }
    }
    open = n;
    /* The means come first. */
    for (int i = 0; i < (together ? 1 : components); i++) {
        int all = together ? components : 1;
        to[written++] = scan(i, all, 0, 0, 0, shift);
        if (shift > 0)
            bands[n] = (struct band){ i, all, 0, 0, shift, shift }, n++, open++;
    }
    while (open > 0) {
        struct band *it = &bands[below(n)];
        if (it->left == 0)
            continue;
        int left = it->left < 0 ? it->first : it->left - 1;
        to[written++] = scan(it->component, it->n, it->ss, it->se, it->left < 0 ? 0 : it->left, left);
        it->left = left;
        open -= left == 0;
    }
    return written;
}

/* The FNV-1a hash of the pixels, made smaller. */
static uint64_t hash(unsigned char *bytes, unsigned long len, int denominator)
{
    struct jpeg_decompress_struct it;
    struct jpeg_error_mgr errors;
    unsigned char row[3 * SIDE_MAX], *rows = row;
    uint64_t hash = 0xCBF29CE484222325u;
    it.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&it);
    jpeg_mem_src(&it, bytes, len);
    jpeg_read_header(&it, TRUE);
    it.out_color_space = JCS_RGB;
    it.scale_num = 1;
    it.scale_denom = denominator;
    jpeg_start_decompress(&it);
    while (it.output_scanline < it.output_height) {
        jpeg_read_scanlines(&it, &rows, 1);
        for (unsigned i = 0; i < 3 * it.output_width; i++)
            hash = (hash ^ row[i]) * 0x100000001B3u;
    }
    jpeg_finish_decompress(&it);
    jpeg_destroy_decompress(&it);
    return hash;
}

static unsigned long encode(unsigned char **bytes)
{
    static const int SAMPLING[5][2] = { { 1, 1 }, { 2, 2 }, { 2, 1 }, { 1, 2 }, { 4, 1 } };
    static jpeg_scan_info scans[SCANS_MAX];
    struct jpeg_compress_struct it;
    struct jpeg_error_mgr errors;
    unsigned long len = 0;
    int noise = 1 + below(90);
    it.err = jpeg_std_error(&errors);
    jpeg_create_compress(&it);
    jpeg_mem_dest(&it, bytes, &len);
    it.image_width = 1 + below(SIDE_MAX);
    it.image_height = 1 + below(SIDE_MAX);
    it.input_components = 3;
    it.in_color_space = JCS_RGB;
    jpeg_set_defaults(&it);
    if (below(6) == 0)
        jpeg_set_colorspace(&it, JCS_GRAYSCALE);
    jpeg_set_quality(&it, 10 + below(90), TRUE);
    if (it.num_components == 3) {
        int which = below(5);
        it.comp_info[0].h_samp_factor = SAMPLING[which][0];
        it.comp_info[0].v_samp_factor = SAMPLING[which][1];
    }
    it.scan_info = scans;
    it.num_scans = script(it.num_components, scans);
    it.restart_interval = below(3) == 0 ? 1 + below(9) : 0;
    jpeg_start_compress(&it, TRUE);
    while (it.next_scanline < it.image_height) {
        unsigned char row[3 * SIDE_MAX], *rows = row;
        unsigned y = it.next_scanline;
        for (unsigned i = 0; i < 3 * it.image_width; i++) {
            unsigned x = i / 3, edge = (x / 5 + y / 7) % 2 * 90;
            unsigned value = (i % 3 == 0 ? 3 * x : i % 3 == 1 ? 5 * y : 255 - 2 * x) + edge + below(noise);
            row[i] = value > 255 ? 255 : value;
        }
        jpeg_write_scanlines(&it, &rows, 1);
    }
    jpeg_finish_compress(&it);
    jpeg_destroy_compress(&it);
    return len;
}

int main(void)
{
    printf("# Made by `make.c` with libjpeg-turbo 2.1.5: a file in hexadecimal digits, and the FNV-1a hash of its\n"
           "# RGB pixels, of all and of those made smaller by 2, 4 and 8.\n");
    for (int i = 0; i < FILES; i++) {
        unsigned char *bytes = NULL;
        unsigned long len = encode(&bytes);
        for (unsigned long k = 0; k < len; k++)
            printf("%02x", bytes[k]);
        for (int denominator = 1; denominator <= 8; denominator *= 2)
            printf("\t%016llx", (unsigned long long)hash(bytes, len, denominator));
        printf("\n");
        free(bytes);
    }
    return 0;
}
