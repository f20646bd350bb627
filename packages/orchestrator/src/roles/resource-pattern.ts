import { matchesPattern, mayBeOfTemplate, normalUri } from '@signalbox/protocol';

/**
 * Tells whether a pattern `SERVER:URI` matches this URI of this server. Both parts may hold `*`. The spelling of the URIs makes no
 * difference: their normal forms are compared.
 */
export function matchesResource(pattern: string, server: string, uri: string): boolean {
  const uris = urisOf(pattern, server);
  return uris !== undefined && matchesPattern(uris, normalUri(uri));
}

/**
 * Tells whether a pattern may match some resource that a template of this server makes. The check is generous: of a pattern with `*`, only
 * the beginning and the end are compared with those of the template.
 */
export function mayMeanResourceOf(pattern: string, server: string, spelled: string): boolean {
  const uris = urisOf(pattern, server);
  const template = normalUri(spelled);
  if (uris === undefined) return false;
  if (!uris.includes('*')) return mayBeOfTemplate(template, uris);
  const [head, tail] = [uris.slice(0, uris.indexOf('*')), uris.slice(uris.lastIndexOf('*') + 1)];
  const open = template.indexOf('{');
  if (open < 0) return matchesPattern(uris, template);
  const [begin, end] = [template.slice(0, open), template.slice(template.lastIndexOf('}') + 1)];
  const begins = head.startsWith(begin) || begin.startsWith(head);
  return begins && (tail.endsWith(end) || end.endsWith(tail));
}

/** Returns the normal form of the URI part of a pattern, if its server part matches this server. */
function urisOf(pattern: string, server: string): string | undefined {
  const colon = pattern.indexOf(':');
  if (colon < 0 || !matchesPattern(pattern.slice(0, colon), server)) return undefined;
  return normalUri(pattern.slice(colon + 1));
}
