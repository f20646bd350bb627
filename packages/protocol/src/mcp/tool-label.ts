/** Returns the form that the name of a server has in the names of its tools: `mcp_{server part}__{tool}`. */
export function serverPart(server: string): string {
  return server.toLowerCase().replace(/[^a-z0-9]/g, '_');
}

/**
 * Returns the name of a tool for people: `SERVER:TOOL` for `mcp_SERVER__TOOL`, and any other name as it is. Without `server`, the name of the
 * server has the form that it has in the name of the tool.
 */
export function toolLabel({ tool, server }: { tool: string; server?: string | undefined }): string {
  const start = server === undefined ? undefined : `mcp_${serverPart(server)}__`;
  if (start !== undefined && tool.startsWith(start) && tool.length > start.length)
    return `${server}:${tool.slice(start.length)}`;
  return tool.replace(/^mcp_([a-z0-9_]+?)__(?=.)/, '$1:');
}
