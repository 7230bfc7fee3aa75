# Writes OUTPUT, a C file with the bytes of INPUT: const char NAME[], ended by a NUL byte.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by tools/embed.cmake. */\n#include \"shared/page.h\"\n\nconst unsigned char ${NAME}[] = {${bytes}0};\n")
