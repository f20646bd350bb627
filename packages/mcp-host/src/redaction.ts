import type { ServerAuth } from './auth/server-auth.ts';
import type { McpServerConfig } from './config.ts';

/** Shorter values are words and numbers, not secrets; replacing them would garble the text. */
const shortestSecret = 6;

/** Takes the values of a server's environment, headers, sign-in and URL credentials out of texts about that server. */
export function redactor(config: McpServerConfig): (text: string) => string {
  return redactorOf(secretsOf(config));
}

/** Takes these values out of a text, and what they look like in URLs and in JSON. */
export function redactorOf(values: readonly string[]): (text: string) => string {
  const secrets = formsOf(values);
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
}

/** For a text that was cut at its front: what it begins with, if that is the end of a secret of this server, is left out. */
export function withoutCutSecret(text: string, config: McpServerConfig): string {
  const lengths = formsOf(secretsOf(config)).map((secret) => {
    for (let at = 1; at < secret.length; at++)
      if (text.startsWith(secret.slice(at))) return secret.length - at;
    return 0;
  });
  return text.slice(Math.max(0, ...lengths));
}

/** Each value in every form that it may be written in, the longest first. */
function formsOf(values: readonly string[]): string[] {
  const forms = values.flatMap((value) => [
    value,
    encodeURIComponent(value.toWellFormed()),
    formEncoded(value),
    JSON.stringify(value).slice(1, -1),
  ]);
  return [...new Set(forms)]
    .filter((secret) => secret.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
}

/** What of a sign-in nobody may read, basic credentials in their Base64 form included. */
export function secretsOfAuth(auth: ServerAuth): string[] {
  if (auth.type === 'bearer') return [auth.token];
  const { clientId = '', clientSecret } = auth;
  const urls = [auth.issuer, auth.tokenUrl].flatMap((url) => (url === undefined ? [] : secretsOfUrl(url)));
  return [
    ...urls,
    ...(auth.type === 'token_exchange' ? [auth.subjectToken] : []),
    ...(clientSecret === undefined ? [] : [clientSecret, ...basicCredentials(clientId, clientSecret)]),
  ];
}

function secretsOf(config: McpServerConfig): string[] {
  if (config.type === 'stdio') return Object.values(config.env ?? {});
  const headers = Object.values(config.headers ?? {}).flatMap((value) => [
    value,
    ...value.split(' '),
    ...basicParts(value),
  ]);
  const auth = config.auth ? secretsOfAuth(config.auth) : [];
  return [...headers, ...auth, config.url, ...secretsOfUrl(config.url)];
}

/** User, password and all query values, as written and as meant. */
function secretsOfUrl(text: string): string[] {
  const url = URL.parse(text);
  if (!url) return [];
  const user = decoded(url.username);
  const password = decoded(url.password);
  const values = [url.username, url.password, user, password, ...url.searchParams.values()];
  const basic = password === '' ? [] : basicCredentials(user, password);
  return [...values, ...basic].filter((value) => value !== '');
}

/** RFC 6749 §2.3.1 encodes both parts first; many clients don't. */
function basicCredentials(user: string, password: string): string[] {
  return [
    base64(`${user}:${password}`),
    base64(`${formEncoded(user)}:${formEncoded(password)}`),
    base64(`${encodeURIComponent(user.toWellFormed())}:${encodeURIComponent(password.toWellFormed())}`),
  ];
}

/** The user and password in a `Basic` header. */
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

function formEncoded(text: string): string {
  return new URLSearchParams({ x: text }).toString().slice(2);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
