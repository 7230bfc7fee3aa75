# Writes OUTPUT, a C file that defines the array NAME: the bytes of INPUT, with the line @STYLE@ replaced by the content of
# the file STYLE, if given, followed by a NUL byte. HEADER declares the array.
file(READ ${INPUT} bytes HEX)
if(STYLE)
  file(READ ${STYLE} style HEX)
  string(REPLACE "405354594c45400a" "${style}" bytes "${bytes}") # "@STYLE@" and a newline
endif()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made by tools/embed.cmake. */\n#include \"${HEADER}\"\n\nconst unsigned char ${NAME}[] = {${bytes}0};\n")
