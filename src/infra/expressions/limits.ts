/** Of the text of an expression. */
export const expressionLengthMax = 1_000;
/** How deep an expression may be nested; each `|`, `||` and `.` is a level. What people write has some dozens. */
export const expressionDepthMax = 128;
/** Of a document, and of what an expression makes of it. */
export const valueDepthMax = 256;
/** Of the width of `pad_left` and `pad_right`, and of the number of replacements of `replace`. */
export const countMax = 10_000;
/** Of a text that `join` and `replace` make. A result may have less, and is judged by itself. */
export const textCharsMax = 4 * 1024 * 1024;
