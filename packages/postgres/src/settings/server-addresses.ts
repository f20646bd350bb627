import { tlsSettings } from './tls-settings.ts';

/** The addresses of the servers that one address names, or the problem of it. */
export type ServerAddresses = { servers: readonly string[] } | { problem: string };

const example = 'write postgres://user:password@host:port/database';
/** Matches the scheme, the user with password, the hosts, and the rest. */
const parts = /^(postgres(?:ql)?:\/\/)([^@/?#]*@)?([^/?#]*)(.*)$/s;
/** The values of the parameter for the kind of server. The server must accept changes in any case. */
const allowedTargets = [null, 'any', 'read-write', 'primary'];

/**
 * Reads an address as PostgreSQL's own programs do: it may name several hosts, separated by commas, each with its port, also by the
 * parameters `host` and `port`. Every server of the result has an address of its own.
 */
export function serverAddresses(address: string): ServerAddresses {
  const [, scheme, user = '', hosts, rest] = parts.exec(address) ?? [];
  if (scheme === undefined || hosts === undefined || rest === undefined)
    return { problem: `it does not begin with postgres://; ${example}` };
  const query = rest.includes('?')
    ? new URLSearchParams(rest.slice(rest.indexOf('?')))
    : new URLSearchParams();
  const target = query.get('target_session_attrs');
  if (!allowedTargets.includes(target))
    return { problem: `target_session_attrs can't be ${target}: a broker writes; leave it out` };
  const tls = tlsSettings(query);
  if ('problem' in tls) return { problem: tls.problem };
  const inQuery = query.get('host')?.split(',') ?? [];
  const ports = query.get('port')?.split(',') ?? [];
  const servers =
    inQuery.length > 1
      ? inQuery.map(
          (host, at) => `${scheme}${user}${hosts}${withParameters(rest, host, ports[at] ?? ports[0])}`,
        )
      : hosts.split(',').map((host) => `${scheme}${user}${host}${rest}`);
  if (servers.every(isAddress)) return { servers };
  return {
    problem: `a host, a port or the password is written wrongly; ${example}, with % escapes in the password`,
  };
}

function withParameters(rest: string, host: string, port: string | undefined): string {
  const at = rest.indexOf('?');
  const query = new URLSearchParams(rest.slice(at));
  query.set('host', host);
  if (port !== undefined) query.set('port', port);
  return `${rest.slice(0, at)}?${query}`;
}

/** Tells whether a text is an address. A server without a host is on this machine; a URL needs a host after a user. */
function isAddress(text: string): boolean {
  return URL.canParse(text.replace(/@(?=[/?]|$)/, '@localhost'));
}
