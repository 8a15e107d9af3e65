/** Records by `<type> <name>`. Names without an entry do not exist; an entry that is an error is thrown. */
export type Records = Record<string, unknown[] | Error>;

/** Answers as Node's resolver does. */
export function lookUpIn(records: Records): (name: string, type: string) => Promise<unknown> {
  return async (name, type) => {
    const found = records[`${type} ${name.toLowerCase()}`];
    if (found instanceof Error) throw found;
    if (found !== undefined) return found;
    throw Object.assign(new Error(`query${type} ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
  };
}

export function silentNameServer(): Error {
  return Object.assign(new Error('queryTxt ETIMEOUT'), { code: 'ETIMEOUT' });
}
