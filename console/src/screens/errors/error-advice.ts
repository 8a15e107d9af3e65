// The node's own table, so that the console and `docs/errors.md` say the same.
import { errorKinds } from '../../../../src/kernel/errors';

const byCode = new Map(Object.entries(errorKinds).map(([code, { advice }]) => [code.toLowerCase(), advice]));

/** What to do about an error; undefined for the spelling of another vendor's dialect. */
export const adviceOf = (code: string): string | undefined => byCode.get(code.toLowerCase());
