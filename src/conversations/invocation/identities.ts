/** The prefix with which a channel marks its own numbers: `whatsapp:+49…`. */
const channelPrefix = /^[a-z][a-z0-9_-]{1,30}:(?=\s*\+?[\d\s().-]*\d)/i;
const international = /^\+[\d\s().-]*$/;
const digitsOnly = /^\+?[\d\s().-]*$/;
const mailAddress = /^[^\s@]+@[^\s@]+$/;
/** Shorter numbers are as often numbers of customers or orders as phone numbers. */
const phoneDigitsMin = 7;

/**
 * `whatsapp:+49 171 555` → `+49171555`. A text that is not a number (a mail address in `From`) is returned
 * unchanged: its digits alone could make two people one.
 */
export function normalPhone(text: string): string {
  const trimmed = text.trim();
  const number = trimmed.replace(channelPrefix, '').trim();
  return digitsOnly.test(number) && /\d/.test(number) ? `+${number.replaceAll(/\D/g, '')}` : trimmed;
}

/**
 * An identity in the one form that is stored: phone numbers as `+<digits>`, mail addresses in lower case. Bare
 * digits stay unchanged, because they may be a customer number.
 */
export function normalIdentity(text: string): string {
  const trimmed = text.trim();
  if (mailAddress.test(trimmed) && !channelPrefix.test(trimmed)) return trimmed.toLowerCase();
  const number = trimmed.replace(channelPrefix, '');
  if ((number !== trimmed || international.test(number)) && /\d/.test(number)) return normalPhone(trimmed);
  return trimmed;
}

/** For comparisons only: here, long enough digits count as a phone number on both sides. */
export function comparableIdentity(text: string): string {
  const normal = normalIdentity(text);
  const digits = normal.replaceAll(/\D/g, '');
  return digitsOnly.test(normal) && digits.length >= phoneDigitsMin ? `+${digits}` : normal;
}
