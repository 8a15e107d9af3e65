/** Of one mail, as the node takes it by SMTP and reads it from mailboxes. */
export const mailBytesMax = 10 * 1024 * 1024;
