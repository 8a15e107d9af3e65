/** A host name or address, or `*.` and a domain for all names below it. */
const hostPattern = /^(?:\*\.)?(?=[^.])[a-z0-9_.:-]{1,253}$/;

/** The form in which hosts are stored and compared; undefined if the text is not a host. */
export function normalHost(text: string): string | undefined {
  const wildcard = text.startsWith('*.');
  const rest = wildcard ? text.slice(2) : text;
  const url = `https://${rest.includes(':') && !rest.startsWith('[') ? `[${rest}]` : rest}/`;
  if (/[/?#@\\\s]/.test(rest) || !URL.canParse(url)) return undefined;
  const { hostname, port } = new URL(url);
  if (port !== '') return undefined;
  const host = `${wildcard ? '*.' : ''}${hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')}`;
  return hostPattern.test(host) ? host : undefined;
}

/** Whether the list allows the host. Without a list only owners and admins decide about destinations. */
export function allowsHost(allowedHosts: readonly string[] | null, host: string): boolean {
  const normal = normalHost(host);
  if (allowedHosts === null || normal === undefined) return false;
  return allowedHosts.some((allowed) =>
    allowed.startsWith('*.') ? normal.endsWith(allowed.slice(1)) : normal === allowed,
  );
}
