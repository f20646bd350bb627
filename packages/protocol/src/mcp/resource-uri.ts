/** The longest URI of a resource, in characters. */
export const maxUriLength = 4096;

const ownScheme = 'signalbox://';
/** Begins the names of pages of one server: hosts of MCP Apps read pages only under `ui://`. */
const ownPages = 'ui://signalbox/';
/** Characters that readers of URIs drop, cut off or replace, and invisible characters. A space is escaped instead. */
const unusable = /[^\S ]|[\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
/** Escapes of control characters, of both slashes, and of a percent sign that begins an escape. */
const refusedEscape = /%(?:2F|5C|7F|[01][0-9A-F]|25[0-9A-Fa-f]{2})/;
const badEscape = /%(?![0-9A-Fa-f]{2})/;
/** A segment that means its folder or the one above, also with the parameters that some servers cut off. */
const dots = /(?:^|[/?#:])\.{1,2}(?:[/?#;]|$)/;
/** The schemes whose hosts the URL standard rewrites. */
const rewritten = /^(?:https?|wss?|ftp|file):/;

/**
 * Returns the normal form of a URI, of a pattern or of a template: scheme and host in small letters, spaces and other characters escaped as
 * RFC 3986 (6.2.2.1 and 6.2.2.2) prefers. Two URIs with the same normal form name the same resource. A server is never asked in this form.
 */
export function normalUri(text: string): string {
  // Nearly all URIs are in their normal form.
  if (!/[A-Z %]/.test(text)) return text;
  const escaped = text.replaceAll(' ', '%20').replace(/%[0-9A-Fa-f]{2}/g, normalEscape);
  const end = caselessEnd(escaped);
  const small = escaped.slice(0, end).replace(/%..|[A-Z]+/g, (part) => {
    return part.startsWith('%') ? part : part.toLowerCase();
  });
  return small + escaped.slice(end);
}

/** Decodes an escape of a letter, a digit or one of `-._~`; writes any other one in capital letters. */
function normalEscape(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return /[A-Za-z0-9._~-]/.test(character) ? character : escaped.toUpperCase();
}

/** Returns the end of the part in which capital letters make no difference: scheme and host, or what a pattern surely means of them. */
function caselessEnd(text: string): number {
  const authority = /^[^:/?#]*:\/\/[^/?#]*/.exec(text)?.[0];
  // Behind a star without a further slash, a pattern may mean a host or a path.
  const isOpen = authority?.length === text.length && authority.includes('*');
  if (authority !== undefined) {
    const end = isOpen ? authority.indexOf('*', authority.indexOf('//')) : authority.length;
    const whole = end < 0 ? authority.length : end;
    // The part before an @ is the user's name, in which capital letters make a difference.
    return authority.includes('@') ? authority.indexOf(':') + 1 : whole;
  }
  return /^[^:/?#*]*/.exec(text)![0].length;
}

/**
 * Returns the reason why a URI has no normal form; `undefined` if it has one. Only the normal form means the same to the rules of an
 * allowlist, which compare text, and to the server that reads the URI.
 */
export function whyNotNormal(uri: string): string | undefined {
  if (uri.length > maxUriLength) return `it is longer than ${maxUriLength} characters`;
  if (uri.startsWith(' ') || uri.endsWith(' ')) return 'it begins or ends with a space';
  if (unusable.test(uri)) return 'it holds a backslash or a character that nobody sees';
  if (badEscape.test(uri)) return 'a percent sign must be followed by two digits or letters A to F';
  if (!/^[^:/?#]+:/.test(uri)) return 'it has no scheme, as in file:///folder/name';
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:/.test(uri)) return 'its scheme must be letters, digits and +.-';
  const normal = normalUri(uri);
  const scheme = normal.slice(0, normal.indexOf(':'));
  const rest = normal.slice(scheme.length + 1);
  if (refusedEscape.test(rest)) return 'it escapes a slash, a control character or a percent sign';
  const host = /^\/\/([^/?#]*)/.exec(rest)?.[1];
  if (
    host !== undefined &&
    rewritten.test(normal) &&
    URL.parse(normal)?.href.startsWith(`${scheme}://${host}`) !== true
  )
    return 'its host is not in its normal form';
  if (dots.test(rest)) return "it has a segment '.' or '..'";
  return undefined;
}

/**
 * Names the resource of one server. A URI is shown in this form if an earlier server lists the same one. The name of a page begins with
 * `ui://`, too.
 */
export function namedUri(server: string, uri: string): string {
  const name = encodeURIComponent(server);
  return isPageUri(uri) ? `${ownPages}${name}/${uri.slice('ui://'.length)}` : `${ownScheme}${name}/${uri}`;
}

/** Splits a URI of {@link namedUri}; `undefined` for any other URI. */
export function parseNamedUri(uri: string): { server: string; uri: string } | undefined {
  const [, ownPage, server, rest] =
    /^(?:signalbox:\/\/|(ui:\/\/signalbox\/))([^/]+)\/(.+)$/is.exec(uri) ?? [];
  if (server === undefined || rest === undefined) return undefined;
  try {
    const name = decodeURIComponent(server);
    if (encodeURIComponent(name) !== server) return undefined;
    return { server: name, uri: ownPage === undefined ? rest : `ui://${rest}` };
  } catch {
    return undefined;
  }
}

/** Tells whether a URI has the form of {@link namedUri}, which no server may use. */
export function isNamedUri(uri: string): boolean {
  return /^(?:signalbox:\/\/|ui:\/\/signalbox(?:[/?#]|$))/.test(normalUri(uri));
}

/** Tells whether a URI names a page of MCP Apps. */
export function isPageUri(uri: string): boolean {
  return /^ui:\/\//i.test(uri);
}
