/** Name, arguments and result of the function that a file creates, in one line: what its callers rely on. */
export function headOf(text: string): string {
  const code = text.replaceAll(/--[^\n]*/g, ' ').replaceAll(/\s+/g, ' ');
  const head =
    /create or replace function (.+?) (?:language|as|immutable|stable|volatile|security|set|parallel) /i.exec(
      code,
    )?.[1];
  if (head === undefined) throw new Error(`no function is created in: ${text.slice(0, 80)}`);
  return head.toLowerCase();
}
