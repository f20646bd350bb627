/** The times of `signalbox worker mcp` that nobody gave, as they are typed. */
export const mcpDefaults = { wait: '20s', timeout: '10m' } as const;
