/** The modes of `sslmode`, from no encryption to a check of the server's name. */
const modes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'] as const;

/** How connections to a server are encrypted, in the words of PostgreSQL's own programs. */
export interface TlsSettings {
  mode: (typeof modes)[number];
  /** The file with the certificates of the authorities, or `system` for those that Node.js trusts. */
  sslrootcert?: string;
  /** The files of the client's certificate and its key, and the password of the key. */
  sslcert?: string;
  sslkey?: string;
  sslpassword?: string;
}

/** The parameters that make a connection safer, and that the client can't apply. Ignoring them would break a promise. */
const notApplied = ['sslcrl', 'sslcrldir', 'ssl_min_protocol_version', 'ssl_max_protocol_version'];
/** The other parameters about TLS. The last two only choose how a client begins, and how the client of Node.js reads the others. */
const applied = [
  'ssl',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'sslpassword',
  'sslnegotiation',
  'uselibpqcompat',
];

/**
 * Reads the parameters of an address that concern TLS. `fallback` is the mode for an address without one: that of the variable
 * `PGSSLMODE`.
 */
export function tlsSettings(query: URLSearchParams, fallback?: string): TlsSettings | { problem: string } {
  const unknown = notApplied.find((name) => query.has(name));
  if (unknown) return { problem: `${unknown} can't be applied; leave it out` };
  const ssl = query.get('ssl');
  if (ssl !== null && ssl !== 'true') return { problem: `ssl can't be '${ssl}'; write sslmode instead` };
  const files = Object.fromEntries(
    (['sslrootcert', 'sslcert', 'sslkey', 'sslpassword'] as const).flatMap((name) => {
      const value = query.get(name);
      return value === null || value === '' ? [] : [[name, value]];
    }),
  ) as Omit<TlsSettings, 'mode'>;
  if ((files.sslcert === undefined) !== (files.sslkey === undefined))
    return { problem: 'sslcert and sslkey go together; name both, or none' };
  const given = query.get('sslmode') ?? (ssl === null ? fallback : 'require');
  const mode = given ?? (files.sslrootcert === 'system' ? 'verify-full' : 'disable');
  if (!isMode(mode)) return { problem: `sslmode can't be '${mode}'; it is one of ${modes.join(', ')}` };
  if (files.sslrootcert === 'system' && mode !== 'verify-full')
    return {
      problem: `with sslrootcert=system anybody has a certificate that sslmode=${mode} accepts; write sslmode=verify-full`,
    };
  return { mode, ...files };
}

function isMode(text: string): text is TlsSettings['mode'] {
  return (modes as readonly string[]).includes(text);
}

/** Returns an address without its parameters about TLS, and all its parameters, which {@link tlsSettings} reads. */
export function withoutTls(address: string): { address: string; query: URLSearchParams } {
  const at = address.indexOf('?');
  const query = new URLSearchParams(at < 0 ? '' : address.slice(at));
  const rest = new URLSearchParams(query);
  for (const name of applied) rest.delete(name);
  return { address: at < 0 ? address : `${address.slice(0, at)}?${rest}`, query };
}
