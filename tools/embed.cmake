# Writes OUTPUT, a C file that defines the array NAME: the bytes of INPUT, with the line @STYLE@ replaced by the content of
# the file STYLE, followed by a NUL byte.
file(READ ${INPUT} bytes HEX)
file(READ ${STYLE} style HEX)
string(REPLACE "405354594c45400a" "${style}" bytes "${bytes}") # "@STYLE@" and a newline
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by tools/embed.cmake. */\n#include \"shared/page.h\"\n\nconst unsigned char ${NAME}[] = {${bytes}0};\n")
