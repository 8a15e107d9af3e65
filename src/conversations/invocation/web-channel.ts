/** The channel of conversations in the chat of a web page, which reads them itself. */
export const webChannel = 'web';
