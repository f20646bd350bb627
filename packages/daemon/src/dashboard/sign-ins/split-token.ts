/** The two parts of a sign-in's token. Each of them alone is a random text that proves nothing. */
export interface TokenParts {
  /** The part for a cookie, which scripts can't read but which a browser also sends to other ports of the same host. */
  cookie: string;
  /** The part for the page, which keeps it for its origin only: host and port. */
  key: string;
}

/** Splits a token into two parts. `random` returns that many random bytes. */
export function splitToken(token: string, random: (bytes: number) => Buffer): TokenParts {
  const text = Buffer.from(token);
  const pad = random(text.length);
  return { cookie: pad.toString('base64url'), key: xor(text, pad).toString('base64url') };
}

/** Joins a token from its parts. Parts that don't belong together give a text that is not a token. */
export function joinToken({ cookie, key }: TokenParts): string {
  const [pad, masked] = [Buffer.from(cookie, 'base64url'), Buffer.from(key, 'base64url')];
  return pad.length === masked.length ? xor(masked, pad).toString() : '';
}

function xor(bytes: Buffer, pad: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, index) => byte ^ pad[index]!));
}

/** The header in which the page sends its part of the sign-in's token. */
export const keyHeader = 'x-signalbox-key';

/** Names the cookie by port, because cookies of one host go to all its ports. */
function cookieName(port: number): string {
  return `signalbox_${port}`;
}

/** Writes the header that sets the cookie of a sign-in. `maxAgeSeconds` 0 removes it. */
export function setCookie(
  port: number,
  value: string,
  { maxAgeSeconds, isSecure }: { maxAgeSeconds: number; isSecure: boolean },
): string {
  const rules = ['Path=/api', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAgeSeconds}`];
  return [`${cookieName(port)}=${value}`, ...rules, ...(isSecure ? ['Secure'] : [])].join('; ');
}

/** Reads the cookie of a sign-in from the header `Cookie`. */
export function readCookie(port: number, header: string | undefined): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === cookieName(port) && value !== undefined) return value;
  }
  return undefined;
}
