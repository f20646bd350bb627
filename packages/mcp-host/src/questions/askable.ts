import {
  isJsonObject,
  type QuestionKind,
  type QuestionMethod,
  questionCapabilities,
} from '@signalbox/protocol';
import { listingInstance } from '../config/instance-name.ts';
import type { ServerSharing } from '../config/server-config.ts';

/** The questions that a client can be asked, in the form in which MCP clients declare them. */
export type Askable = Partial<Record<QuestionKind, Record<string, unknown>>>;

/** The questions that an instance can be asked, and its knowledge of pages of MCP Apps, as MCP clients declare them. */
export type Declared = Askable & { extensions?: Record<string, unknown> };

/** The extension that says that a client shows pages of MCP Apps. Some servers list pages only to clients that declare it. */
const pagesExtension = 'io.modelcontextprotocol/ui';
const anyPages = { mimeTypes: ['text/html;profile=mcp-app'] };

const everything: Required<Askable> = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
/** The clients that share an instance can answer different questions; all clients with the capability know these. */
const ofAnybody: Askable = { elicitation: { form: {} }, sampling: {} };

/**
 * Returns the capabilities that an instance declares to its server. `client` holds the capabilities of the client whose call starts the
 * instance. A shared instance declares that it shows pages, since some of its clients may; the others do not read them.
 */
export function declaredBy(
  {
    share,
    instance,
    questions,
  }: { share: ServerSharing; instance: string; questions: readonly QuestionKind[] },
  client: Record<string, unknown> | undefined,
): Declared {
  if (share !== 'worker') return { ...only(questions, ofAnybody), ...showing(anyPages) };
  // The instance that only lists the tools serves no caller, and should list the tools that the instances of all clients list.
  if (instance === listingInstance) return { ...only(questions, everything), ...showing(anyPages) };
  const { extensions } = client ?? {};
  return {
    ...only(questions, askableOf(client)),
    ...(isJsonObject(extensions) && showing(extensions[pagesExtension])),
  };
}

function showing(pages: unknown): Pick<Declared, 'extensions'> {
  return isJsonObject(pages) ? { extensions: { [pagesExtension]: pages } } : {};
}

/** Returns the questions that a client can be asked. Its other capabilities are left out: its changes of roots are not relayed. */
export function askableOf(client: Record<string, unknown> | undefined): Askable {
  const { elicitation, sampling, roots } = client ?? {};
  return {
    ...(isJsonObject(elicitation) && { elicitation: elicitationOf(elicitation) }),
    ...(isJsonObject(sampling) && { sampling }),
    ...(isJsonObject(roots) && { roots: {} }),
  };
}

/** Returns true if a client that can be asked these questions can answer this one. */
export function canAnswer(
  askable: Askable,
  method: QuestionMethod,
  params: Record<string, unknown>,
): boolean {
  const capability = askable[questionCapabilities[method]];
  if (!capability) return false;
  if (method === 'elicitation/create')
    return capability[params.mode === 'url' ? 'url' : 'form'] !== undefined;
  if (method === 'sampling/createMessage' && params.tools !== undefined)
    return capability.tools !== undefined;
  return true;
}

/** Returns true if an instance declares everything that its server may be declared, so that its server shows all of its tools. */
export function declaresAll(declared: Askable, questions: readonly QuestionKind[]): boolean {
  return questions.every((kind) => declared[kind] !== undefined);
}

/** A client that names no modes means forms: the first revision with elicitation had no others. */
function elicitationOf(declared: Record<string, unknown>): Record<string, unknown> {
  const { form, url } = declared;
  if (form === undefined && url === undefined) return { form: {} };
  return { ...(form !== undefined && { form: {} }), ...(url !== undefined && { url: {} }) };
}

function only(kinds: readonly QuestionKind[], askable: Askable): Askable {
  return Object.fromEntries(Object.entries(askable).filter(([kind]) => kinds.includes(kind as QuestionKind)));
}
