/** The size limit of one mail, received by SMTP or read from a mailbox. */
export const mailBytesMax = 10 * 1024 * 1024;
