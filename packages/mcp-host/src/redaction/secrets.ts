import { formEncoded } from './redact.ts';
import { isSecretName } from './secret-name.ts';

/** Matches the URLs in a text. A match begins only at the first letter of a scheme, so that no long text is slow. */
const urls = /(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*:\/\/[^\s,;"'<>]+/gi;
/** Matches a text that is one URL. Its password may hold the characters that end a URL in other texts. */
const oneUrl = /^[a-z][a-z0-9+.-]{0,30}:\/\/\S+$/i;
/** Matches a proxy without a scheme. The digest of an image and an address of mail only look alike. */
const bareProxy = /^(?!mailto:)([^\s/:@]+:[^\s/@]+)(@(?!sha\d)[\w.-]+(?::\d+)?\/?)$/;

/**
 * Lists the secrets in the URLs of a text: the user part, with its password alone, and the query values whose names mean a secret. A user
 * name alone is a secret only behind HTTP, where services accept tokens in its place.
 */
export function secretsOfUrls(text: string): string[] {
  const bare = bareProxy.exec(text)?.[1];
  if (bare !== undefined) return secretsOfUserPart(bare);
  const found = [...(oneUrl.test(text) ? [text] : []), ...(text.match(urls) ?? [])];
  return [...new Set(found)].flatMap((url) => [
    ...secretsOfUserPart(userPartOf(url)),
    ...secretsOfQuery(url),
  ]);
}

/** Replaces the user parts of URLs in a text, and the query values whose names mean a secret, however short they are. */
export function withoutUrlSecrets(text: string): string {
  const withoutProxy = text.replace(bareProxy, '[redacted]$2');
  const withoutOne = oneUrl.test(withoutProxy) ? withoutUserPart(withoutProxy) : withoutProxy;
  return withoutOne
    .replace(urls, withoutUserPart)
    .replace(/([?&]([\w.-]+)=)[^\s&#]+/g, (whole, start: string, name: string) =>
      isSecretName(name) ? `${start}[redacted]` : whole,
    );
}

function withoutUserPart(url: string): string {
  const user = userPartOf(url);
  return user === '' ? url : url.replace(`${user}@`, '[redacted]@');
}

/** Returns the part of a URL before its host if that is a secret, as it is written; else an empty text. */
function userPartOf(text: string): string {
  const rest = text.slice(text.indexOf('://') + 3);
  // A password with characters that should be encoded keeps a text from being a URL, and may hold a slash.
  const authority = URL.canParse(text) ? /^[^/?#]*/.exec(rest)![0] : rest;
  const user = authority.slice(0, Math.max(0, authority.lastIndexOf('@')));
  return user.includes(':') || /^https?:/i.test(text) ? user : '';
}

function secretsOfQuery(url: string): string[] {
  const { searchParams = new URLSearchParams() } = URL.parse(url) ?? {};
  return [...searchParams].flatMap(([name, value]) => (isSecretName(name) && value !== '' ? [value] : []));
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
