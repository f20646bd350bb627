import { formEncoded } from './redact.ts';

/** Lists the user name, the password and all query values of a URL, as written and decoded. */
export function secretsOfUrl(text: string): string[] {
  const url = URL.parse(text);
  if (!url) return [];
  const user = decoded(url.username);
  const password = decoded(url.password);
  const values = [url.username, url.password, user, password, ...url.searchParams.values()];
  const basic = password === '' ? [] : basicCredentials(user, password);
  return [...values, ...basic].filter((value) => value !== '');
}

/** Lists the value of a header, its words, and the user name and password of Basic credentials in it. */
export function secretsOfHeader(value: string): string[] {
  return [value, ...value.split(' '), ...basicParts(value)];
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
  if (credentials === undefined) return [];
  const plain = Buffer.from(credentials, 'base64').toString();
  const colon = plain.indexOf(':');
  return colon < 0 ? [plain] : [plain.slice(0, colon), plain.slice(colon + 1)];
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
