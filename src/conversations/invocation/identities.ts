/** How a channel says that what follows is a number of its own: `whatsapp:+49…`. */
const channelPrefix = /^[a-z][a-z0-9_-]{1,30}:(?=\s*\+?[\d\s().-]*\d)/i;
const international = /^\+[\d\s().-]*$/;
const digitsOnly = /^\+?[\d\s().-]*$/;
const mailAddress = /^[^\s@]+@[^\s@]+$/;
/** Shorter ones are numbers of customers and orders as often as of telephones. */
const phoneDigitsMin = 7;

/**
 * `whatsapp:+49 171 555` → `+49171555`. What is no number (a mail address in `From`) stays as it is: by its digits
 * alone, two people would be one.
 */
export function normalPhone(text: string): string {
  const trimmed = text.trim();
  const number = trimmed.replace(channelPrefix, '').trim();
  return digitsOnly.test(number) && /\d/.test(number) ? `+${number.replaceAll(/\D/g, '')}` : trimmed;
}

/**
 * Who somebody is, in the one spelling that is stored: phone numbers as `+<digits>`, mail addresses in lower case.
 * Bare digits are left alone, since they may be anybody's customer number.
 */
export function normalIdentity(text: string): string {
  const trimmed = text.trim();
  if (mailAddress.test(trimmed) && !channelPrefix.test(trimmed)) return trimmed.toLowerCase();
  const number = trimmed.replace(channelPrefix, '');
  if ((number !== trimmed || international.test(number)) && /\d/.test(number)) return normalPhone(trimmed);
  return trimmed;
}

/** For comparisons only: here digits that are long enough are taken for a phone number on both sides. */
export function comparableIdentity(text: string): string {
  const normal = normalIdentity(text);
  const digits = normal.replaceAll(/\D/g, '');
  return digitsOnly.test(normal) && digits.length >= phoneDigitsMin ? `+${digits}` : normal;
}
