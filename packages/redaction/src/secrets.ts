import { formEncoded } from './redact.ts';
import { isSecretName } from './secret-name.ts';

/**
 * Lists the secrets in the URLs of a text: the user part, with its password alone, and the query values whose names mean a secret. A user
 * name alone is a secret only behind HTTP, where services accept tokens in its place.
 */
export function secretsOfUrls(text: string): string[] {
  // A proxy may be written without a scheme. The digest of an image and an address of mail only look alike.
  const [, bare] = /^(?!mailto:)([^\s/:@]+:[^\s/@]+)@(?!sha\d)[\w.-]+(?::\d+)?\/?$/.exec(text) ?? [];
  if (bare !== undefined) return secretsOfUserPart(bare);
  // The match begins only at the first letter of a scheme, so that no long text is slow.
  const found = text.match(/(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s,;"'<>]+/gi) ?? [];
  // In a text that is one URL, the password may hold the characters that separate URLs in others.
  const whole = /^[a-z][a-z0-9+.-]{0,30}:\/\/\S+$/i.test(text) ? [text] : [];
  return [...new Set([...whole, ...found])].flatMap(secretsOfUrl);
}

function secretsOfUrl(text: string): string[] {
  const url = URL.parse(text);
  const rest = text.slice(text.indexOf('://') + 3);
  // A password with characters that should be encoded keeps a text from being a URL, and may hold a slash.
  const authority = url ? /^[^/?#]*/.exec(rest)![0] : rest;
  const user = authority.slice(0, Math.max(0, authority.lastIndexOf('@')));
  const isSecret = user.includes(':') || /^https?:/i.test(text);
  const query = [...(url?.searchParams ?? [])].filter(([name, value]) => isSecretName(name) && value !== '');
  return [...(isSecret ? secretsOfUserPart(user) : []), ...query.map(([, value]) => value)];
}

function secretsOfUserPart(part: string): string[] {
  const colon = part.indexOf(':');
  if (colon < 0) return [part, decoded(part)].filter((value) => value !== '');
  const password = part.slice(colon + 1);
  if (password === '') return secretsOfUserPart(part.slice(0, colon));
  const [user, plain] = [decoded(part.slice(0, colon)), decoded(password)];
  return [part, `${user}:${plain}`, password, plain, ...basicCredentials(user, plain)];
}

/** Lists the secrets of a header that holds one: its value, the words after its scheme, and the parts of Basic credentials in it. */
export function secretsOfHeader(value: string): string[] {
  const words = value.split(' ');
  return [value, ...(words.length > 1 ? words.slice(1) : []), ...basicParts(value)];
}

/** Lists Basic credentials in Base64. RFC 6749 §2.3.1 encodes both parts first and many clients don't, so all forms are listed. */
export function basicCredentials(user: string, password: string): string[] {
  return [
    base64(`${user}:${password}`),
    base64(`${formEncoded(user)}:${formEncoded(password)}`),
    base64(`${encodeURIComponent(user.toWellFormed())}:${encodeURIComponent(password.toWellFormed())}`),
  ];
}

function basicParts(header: string): string[] {
  const credentials = /^basic\s+(\S+)$/i.exec(header)?.[1];
  return credentials === undefined ? [] : secretsOfUserPart(Buffer.from(credentials, 'base64').toString());
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
