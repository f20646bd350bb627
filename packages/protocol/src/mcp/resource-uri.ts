/** The longest URI of a resource, in characters. */
export const maxUriLength = 4096;

const ownScheme = 'signalbox://';
/** Characters that readers of URIs drop, cut off or replace, and invisible characters. */
const unusable = /[\s\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/** Escapes of letters, digits and `-._~`, of control characters, of both slashes, and of a percent sign that begins an escape. */
const needless =
  /%(?:4[1-9A-F]|5[0-9A]|6[1-9A-F]|7[0-9A]|3[0-9]|2[DEF]|5[CF]|7[EF]|[01][0-9A-F]|25[0-9A-Fa-f]{2})/i;
const badEscape = /%(?![0-9A-F]{2})/;
/** A segment that means its folder or the one above, also with the parameters that some servers cut off. */
const dots = /(?:^|[/?#:])\.{1,2}(?:[/?#;]|$)/;
/** The schemes whose hosts the URL standard rewrites. */
const rewritten = /^(?:https?|wss?|ftp|file):/;

/**
 * Returns the reason why a URI is not in its normal form; `undefined` if it is. Only a URI in its normal form means the same to the rules
 * of an allowlist, which compare text, and to the server that reads it.
 */
export function whyNotNormal(uri: string): string | undefined {
  if (uri.length > maxUriLength) return `it is longer than ${maxUriLength} characters`;
  if (unusable.test(uri)) return 'it holds a space, a backslash or a character that nobody sees';
  const [, scheme, rest] = /^([^:/?#]+):(.*)$/s.exec(uri) ?? [];
  if (scheme === undefined || rest === undefined) return 'it has no scheme, as in file:///folder/name';
  if (!/^[a-z][a-z0-9+.-]*$/.test(scheme)) return 'its scheme must be lower-case letters, digits and +.-';
  if (badEscape.test(rest)) return 'a percent sign must be followed by two digits or letters A to F';
  if (needless.test(rest))
    return 'it escapes a character that needs no escape, a slash, a control character or a percent sign';
  const host = /^\/\/([^/?#]*)/.exec(rest)?.[1];
  if (host !== undefined && /[A-Z]/.test(host.replace(/%[0-9A-F]{2}/g, '')))
    return 'its host has capital letters';
  if (
    host !== undefined &&
    rewritten.test(uri) &&
    URL.parse(uri)?.href.startsWith(`${scheme}://${host}`) !== true
  )
    return 'its host is not in its normal form';
  if (dots.test(rest)) return "it has a segment '.' or '..'";
  return undefined;
}

/** Names the resource of one server. A URI is offered in this form if an earlier server offers the same one. */
export function namedUri(server: string, uri: string): string {
  return `${ownScheme}${encodeURIComponent(server)}/${uri}`;
}

/** Splits a URI of {@link namedUri}; `undefined` for any other URI. */
export function parseNamedUri(uri: string): { server: string; uri: string } | undefined {
  const [, server, rest] = /^signalbox:\/\/([^/]+)\/(.+)$/s.exec(uri) ?? [];
  if (server === undefined || rest === undefined) return undefined;
  try {
    const name = decodeURIComponent(server);
    return encodeURIComponent(name) === server ? { server: name, uri: rest } : undefined;
  } catch {
    return undefined;
  }
}

/** Tells whether a URI has the form of {@link namedUri}, which no server may use. */
export function isNamedUri(uri: string): boolean {
  return uri.startsWith(ownScheme);
}
