import { join } from 'node:path';
import type { UsableFile } from './usable-files.ts';

/**
 * Writes the text of a new `signalbox.yaml` that names these files of other clients. Its examples name paths in `project`, an absolute
 * path; by default paths beside the file.
 */
export function configText(files: readonly UsableFile[], project?: string): string {
  const imports = files.length > 0 ? importLines(files) : noImports(project);
  return [head, imports, ownServers(project), roles, broker].join('\n');
}

const head = `# The configuration of Signalbox: which MCP servers are hosted, and which role may use which of their tools.
#   signalbox config check    says what is wrong with it, and what it means
#   signalbox up              starts the broker and the servers; changes of this file and of those that it names are put in
#                             force while they run, or at SIGHUP if one of the servers could make them
`;

function importLines(files: readonly UsableFile[]): string {
  const entries = files.map(({ path, servers }) => `  - ${scalar(path)} # ${servers.join(', ')}`);
  return `# Servers that other MCP clients have already. Their settings and secrets stay in these files.
# An entry of a later file replaces one of the same name in an earlier file.
mcpConfig:
${entries.join('\n')}
`;
}

const noImports = (
  project: string | undefined,
) => `# Servers that another MCP client has already can be used from its file:
# mcpConfig: ${project === undefined ? './.mcp.json' : scalar(join(project, '.mcp.json'))}
`;

const ownServers = (
  project = './project',
) => `# Servers of your own, in the shape that every MCP client uses. Relative paths start at this file.
# mcpServers:
#   files: { command: npx, args: ["-y", "@modelcontextprotocol/server-filesystem", ${JSON.stringify(project)}] }
#   docs: { url: "https://docs.example.com/mcp", headers: { Authorization: "Bearer \${env:DOCS_TOKEN}" } }
`;

const roles = `# Each agent has a token, and the token names its role. A role that is not listed here may use no tools, prompts or resources.
roles:
  # All tools, prompts and resources of all servers.
  developer:
    tools: ["*"]
    prompts: ["*"]
    resources: ["*:*"]
  # An example of less: the tools that their servers declare read-only. It counts only where definitions are pinned, as below.
  # Others are patterns: "files:read_*" means tools of one server. signalbox tools list --role reader shows them, and
  # signalbox tools explain reader TOOL says which rule decides.
  reader:
    tools: [{ annotations: readOnly }]

orchestrator:
  # A tool that is new, or that its server describes in another way, is withheld until you accept it: signalbox servers accept SERVER
  definitions: pin
`;

const broker = `broker:
  # What agents write to each other can be read for a day: signalbox thread. Without this, nothing is kept of a message that was read.
  keepBodies: true
  # Configurations share one broker and its data in $XDG_STATE_HOME/signalbox, or ~/.local/state/signalbox. For one of its own:
  # data: ~/.local/state/signalbox-project
  # listen: 127.0.0.1:7421
`;

/** Writes a path as a YAML scalar on one line. */
function scalar(path: string): string {
  return /^[~.]?\/[\w./-]+$|^\.\.\/[\w./-]+$/.test(path) ? path : JSON.stringify(path);
}
