/** The header in which the page sends its part of the session's token. */
export const keyHeader = 'x-signalbox-key';

/** Names the cookie by port, because cookies of one host go to all its ports. */
function cookieName(port: number): string {
  return `signalbox_${port}`;
}

/** Writes the header that sets the cookie of a session. `maxAgeSeconds` 0 removes it. */
export function setCookie(
  port: number,
  value: string,
  { maxAgeSeconds, isSecure }: { maxAgeSeconds: number; isSecure: boolean },
): string {
  const rules = ['Path=/api', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAgeSeconds}`];
  return [`${cookieName(port)}=${value}`, ...rules, ...(isSecure ? ['Secure'] : [])].join('; ');
}

/** Reads the cookie of a session from the header `Cookie`. */
export function readCookie(port: number, header: string | undefined): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === cookieName(port) && value !== undefined) return value;
  }
  return undefined;
}
