/**
 * The shapes of credentials of any origin: key formats of vendors and of this product, JSON Web Tokens and PEM blocks.
 * Every pattern begins at a word boundary and repeats one character class without backtracking, so hostile text costs
 * linear time.
 */
const vendorKeys = [
  'sk-[\\w-]{6,}', // OpenAI, Anthropic, OpenRouter and others that followed
  '[sr]k_(?:live|test)_\\w{6,}',
  'svc_(?:live|test|dev)_[\\w-]{6,}',
  'xai-[\\w-]{12,}',
  'AIza[\\w-]{20,}',
  'ya29\\.[\\w-]{12,}',
  'gh[pousr]_[A-Za-z0-9]{6,}',
  'github_pat_\\w{6,}',
  'glpat-[\\w-]{8,}',
  '(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,}',
  'xox[a-z]-[\\w-]{6,}',
  'xapp-[\\w-]{12,}',
  'npm_[A-Za-z0-9]{20,}',
  'hf_[A-Za-z0-9]{20,}',
  'SG\\.[\\w-]{16,}',
  'whsec_[\\w+/=-]{6,}',
];
// Within a longer word the length is bounded: every `eyJ-` of a hostile text would begin a reading to its end.
const jsonWebToken = '(?:(?<![\\w-])eyJ[\\w-]{5,}|eyJ[\\w-]{5,2048})\\.[\\w-]{4,}(?:\\.[\\w-]*){1,3}';
const authorization = '(?:[Bb]earer|[Bb]asic) +[\\w.~+/-]{16,}=*';

const word = `(?<![A-Za-z0-9])(?:${[...vendorKeys, jsonWebToken].join('|')})`;
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
