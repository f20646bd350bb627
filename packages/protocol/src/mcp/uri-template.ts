import { normalUri } from './resource-uri.ts';

/** A part of a template: its own text, or an expression. A simple one stands for text without slashes. */
type Part = { text: string } | { isSimple: boolean };

const expression = /\{([+#./;?&]?)[^{}]*\}/g;

/**
 * Returns true if a template (RFC 6570) can have made this URI, in any spelling. The check is generous: it finds a server to ask, and does
 * not decide who may read the URI.
 */
export function mayBeOfTemplate(template: string, uri: string): boolean {
  return templateMatcher(template)(uri);
}

/** Returns {@link mayBeOfTemplate} for one template, which is parsed only once. */
export function templateMatcher(template: string): (uri: string) => boolean {
  const parts = partsOf(normalUri(template));
  return (uri) => fits(parts, normalUri(uri));
}

/** The parts are searched from left to right and never again, so no template is slow. */
function fits(parts: readonly Part[], uri: string): boolean {
  let at = 0;
  let gap: { isSimple: boolean } | undefined;
  for (const [i, part] of parts.entries()) {
    if (!('text' in part)) {
      gap = gap ? { isSimple: false } : part;
      continue;
    }
    const isLast = i === parts.length - 1;
    const found = isLast && gap ? uri.length - part.text.length : uri.indexOf(part.text, at);
    if (found < at || !uri.startsWith(part.text, found)) return false;
    if (!isGap(gap, uri.slice(at, found))) return false;
    at = found + part.text.length;
    gap = undefined;
  }
  return isGap(gap, uri.slice(at));
}

/**
 * Returns the template with a placeholder for each expression: a pattern of an allowlist that matches this matches every URI of the
 * template.
 */
export function templateShape(template: string): string {
  return template.replace(expression, '\u0000');
}

function isGap(gap: { isSimple: boolean } | undefined, text: string): boolean {
  if (!gap) return text === '';
  return !gap.isSimple || !text.includes('/');
}

function partsOf(template: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const { index, 0: whole, 1: operator } of template.matchAll(expression)) {
    if (index > at) parts.push({ text: template.slice(at, index) });
    // FastMCP takes {path*} for text with slashes.
    parts.push({ isSimple: operator === '' && !whole.endsWith('*}') });
    at = index + whole.length;
  }
  if (at < template.length) parts.push({ text: template.slice(at) });
  return parts;
}
