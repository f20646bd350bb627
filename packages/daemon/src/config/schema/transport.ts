/** Says how an entry's server is reached; `url` alone means http, as other MCP clients read it. */
export function transportOf(entry: {
  type?: string | undefined;
  transport_type?: string | undefined;
  url?: string | undefined;
}): 'stdio' | 'http' {
  const written = entry.type ?? entry.transport_type;
  if (written === undefined) return entry.url === undefined ? 'stdio' : 'http';
  return written === 'stdio' ? 'stdio' : 'http';
}
