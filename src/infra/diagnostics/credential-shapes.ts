import { beginningOf, jsonWebToken, keyShapes } from '../../kernel/key-shapes.js';

/**
 * The shapes of credentials of any origin: key formats of vendors and of this product, JSON Web Tokens and PEM blocks.
 * Every pattern begins at a word boundary and repeats one character class without backtracking, so hostile text costs
 * linear time.
 */
const keys = keyShapes.map((shape) => `${beginningOf(shape)}[${shape.follow}]{${shape.least},}`);
const authorization = '(?:[Bb]earer|[Bb]asic) +[\\w.~+/-]{16,}=*';

const word = `(?<![A-Za-z0-9])(?:${[...keys, jsonWebToken].join('|')})`;
const pemHead = '-----BEGIN [A-Z0-9 ]{1,40}-----';

const anyCredential = new RegExp(`${word}|${pemHead}`);
const everyCredential = new RegExp(
  `${pemHead}[\\s\\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)|${word}|(?<![A-Za-z0-9])${authorization}`,
  'g',
);
/** The password in a URL such as `postgres://user:password@host`; quotes end it, so that JSON stays valid. */
const passwordInAddress = /(?<=:\/\/[^/\s:@"'\\]{0,128}:)[^/\s@"'\\]{1,256}(?=@)/g;

/** Every shape above contains one of these. Most texts contain none, and this check costs a tenth. */
const hint = /[-_]|AIza|A(?:KIA|SIA|ROA|IDA)|ya29|SG\.|eyJ|:\/\/|earer|asic/;

/** True if the text is or contains something shaped like a credential. */
export function looksLikeCredential(text: string): boolean {
  return anyCredential.test(text);
}

/** Replaces everything shaped like a credential, for logs and error messages. */
export function withoutCredentials(text: string, replacement: string): string {
  if (text.length < 8 || !hint.test(text)) return text;
  return text.replace(everyCredential, replacement).replace(passwordInAddress, replacement);
}
