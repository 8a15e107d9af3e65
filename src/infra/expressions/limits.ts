/** Maximum length of an expression. */
export const expressionLengthMax = 1_000;
/** Maximum nesting of an expression; each `|`, `||` and `.` is a level. Real expressions have some dozens. */
export const expressionDepthMax = 128;
/** Maximum nesting of a document and of a result. */
export const valueDepthMax = 256;
/** Maximum width for `pad_left` and `pad_right`, and maximum count for `replace`. */
export const countMax = 10_000;
/** Maximum length of a text from `join` and `replace`. The limit of the final result may be lower. */
export const textCharsMax = 4 * 1024 * 1024;
