# Writes OUTPUT, a C file with the bytes of INPUT: const char NAME[], ended by a NUL byte, with the file STYLE for its line
# @STYLE@.
file(READ ${INPUT} bytes HEX)
file(READ ${STYLE} style HEX)
string(REPLACE "405354594c45400a" "${style}" bytes "${bytes}") # "@STYLE@" and the end of its line
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by tools/embed.cmake. */\n#include \"shared/page.h\"\n\nconst unsigned char ${NAME}[] = {${bytes}0};\n")
