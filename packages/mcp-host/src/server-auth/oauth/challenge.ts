import { SignalboxError } from '@signalbox/protocol';

/** Parses the Bearer challenge in a `WWW-Authenticate` header (RFC 9110 §11.6.1). The names of its parameters are in lower case. */
export function bearerChallenge(header: string | null): Record<string, string> | undefined {
  const start = header?.match(/(?:^|,)\s*bearer(?:\s+|$)/i);
  if (!header || start?.index === undefined) return undefined;
  const rest = header.slice(start.index + start[0].length);
  const parameters: [string, string][] = [];
  const parameter = /\s*,?\s*([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/y;
  for (let match = parameter.exec(rest); match; match = parameter.exec(rest)) {
    const [, name = '', quoted, plain = ''] = match;
    parameters.push([name.toLowerCase(), quoted?.replace(/\\(.)/g, '$1') ?? plain]);
  }
  return Object.fromEntries(parameters);
}

/** Returns the error for a 403 whose header says that the token lacks a scope (RFC 6750 §3.1); `undefined` for any other. */
export function insufficientScope(header: string | null): SignalboxError | undefined {
  const challenge = bearerChallenge(header);
  if (challenge?.error !== 'insufficient_scope') return undefined;
  const scope = challenge.scope?.slice(0, 200);
  const needed = scope ? `the scope '${scope}', which its token lacks` : 'a scope that its token lacks';
  return new SignalboxError('auth_failed', `the server asks for ${needed}: add it to auth.scope`, {
    details: { missingScope: scope ?? '' },
  });
}

/** Tells whether an error says that a scope is missing, which only some requests need. */
export function isAboutScope(error: SignalboxError): boolean {
  return 'missingScope' in error.details;
}
