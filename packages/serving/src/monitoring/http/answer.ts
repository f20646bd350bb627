import type { IncomingMessage } from 'node:http';

/** An answer to an HTTP request. */
export interface Answer {
  status: number;
  headers: Readonly<Record<string, string>>;
  body: string | Buffer;
}

/** Makes an answer of plain text. */
export function plainText(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, headers: { 'content-type': 'text/plain; charset=utf-8', ...headers }, body: `${body}\n` };
}

/** Makes an answer of JSON. */
export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  const body = `${JSON.stringify(value)}\n`;
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body };
}

/** Makes an answer that refuses a request: a page for a browser, JSON for every other client. */
export function refusal(
  { headers: { accept = '' } }: Pick<IncomingMessage, 'headers'>,
  status: number,
  { code, message }: { code: string; message: string },
  headers: Readonly<Record<string, string>> = {},
): Answer {
  if (!accept.includes('text/html')) return json(status, { error: { code, message } }, headers);
  const text = message.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
  const body = `<!doctype html><html lang="en"><meta charset="utf-8"><title>${status}</title><p>${text}</p></html>\n`;
  const security = { 'content-security-policy': "default-src 'none'", 'x-content-type-options': 'nosniff' };
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', ...security, ...headers }, body };
}
