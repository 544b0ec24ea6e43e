/* libjpeg-turbo on the files whose names come in on standard input, one core, all in memory:
 * `code`: their coefficients; `rgb`: their pixels. Prints microseconds an image, the least of some
 * passes. `progressive FOLDER` writes them to the folder as progressive files, with the coefficients that they
 * have. Built by `benches` with the C compiler and the libjpeg that are here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <jpeglib.h>

enum { PASSES = 3, FILES_MAX = 100000 };

static double now(void)
{
    struct timespec it;
    clock_gettime(CLOCK_MONOTONIC, &it);
    return it.tv_sec * 1e6 + it.tv_nsec * 1e-3;
}

static int write_progressive(unsigned char *bytes, size_t len, const char *name)
{
    struct jpeg_decompress_struct from;
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors;
    FILE *file = fopen(name, "wb");
    if (!file)
        return 1;
    from.err = to.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&from);
    jpeg_create_compress(&to);
    jpeg_mem_src(&from, bytes, len);
    jpeg_stdio_dest(&to, file);
    jpeg_read_header(&from, TRUE);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&from);
    jpeg_copy_critical_parameters(&from, &to);
    jpeg_simple_progression(&to);
    jpeg_write_coefficients(&to, coefficients);
    jpeg_finish_compress(&to);
    jpeg_finish_decompress(&from);
    jpeg_destroy_compress(&to);
    jpeg_destroy_decompress(&from);
    return fclose(file);
}

int main(int argc, char **argv)
{
    static unsigned char *bytes[FILES_MAX];
    static size_t lens[FILES_MAX];
    char name[4096];
    size_t n = 0, most = 0;
    double least = 1e300;
    unsigned char *row = NULL;
    int code = argc > 1 && !strcmp(argv[1], "code");

    while (n < FILES_MAX && fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = 0;
        FILE *file = fopen(name, "rb");
        if (!file || fseek(file, 0, SEEK_END))
            return 1;
        lens[n] = ftell(file);
        rewind(file);
        bytes[n] = malloc(lens[n]);
        if (fread(bytes[n], 1, lens[n], file) != lens[n])
            return 1;
        fclose(file);
        n++;
    }
    if (argc > 2 && !strcmp(argv[1], "progressive")) {
        for (size_t i = 0; i < n; i++) {
            snprintf(name, sizeof name, "%s/%06zu.jpg", argv[2], i);
            if (write_progressive(bytes[i], lens[i], name))
                return 1;
        }
        return 0;
    }
    for (int pass = 0; pass < PASSES; pass++) {
        double begun = now();
        for (size_t i = 0; i < n; i++) {
            struct jpeg_decompress_struct it;
            struct jpeg_error_mgr errors;
            it.err = jpeg_std_error(&errors);
            jpeg_create_decompress(&it);
            jpeg_mem_src(&it, bytes[i], lens[i]);
            jpeg_read_header(&it, TRUE);
            if (code) {
                jpeg_read_coefficients(&it);
            } else {
                it.out_color_space = JCS_RGB;
                jpeg_start_decompress(&it);
                size_t stride = (size_t)it.output_width * 3, all = stride * it.output_height;
                if (all > most)
                    row = realloc(row, most = all);
                while (it.output_scanline < it.output_height) {
                    JSAMPROW rows[4];
                    for (int k = 0; k < 4; k++)
                        rows[k] = row + stride * (it.output_scanline + k);
                    jpeg_read_scanlines(&it, rows, 4);
                }
            }
            jpeg_finish_decompress(&it);
            jpeg_destroy_decompress(&it);
        }
        double took = (now() - begun) / n;
        least = took < least ? took : least;
    }
    printf("%.3f\n", least);
    return 0;
}
