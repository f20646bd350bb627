import {
  isJsonObject,
  type QuestionKind,
  type QuestionMethod,
  questionCapabilities,
} from '@signalbox/protocol';
import { listingInstance } from '../config/instance-name.ts';
import type { ServerSharing } from '../config/server-config.ts';

/** The questions that a client can be asked, in the words in which MCP has clients declare them. */
export type Askable = Partial<Record<QuestionKind, Record<string, unknown>>>;

const everything: Required<Askable> = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
/** Those who share an instance can answer different things; all clients with the capability know these. */
const ofAnybody: Askable = { elicitation: { form: {} }, sampling: {} };

/** Returns what an instance declares to its server. `client` is what the client declared whose call starts the instance. */
export function declaredBy(
  {
    share,
    instance,
    questions,
  }: { share: ServerSharing; instance: string; questions: readonly QuestionKind[] },
  client: Record<string, unknown> | undefined,
): Askable {
  if (share !== 'worker') return only(questions, ofAnybody);
  // The instance that only lists the tools serves nobody, and is to list what the instances of all clients offer.
  return only(questions, instance === listingInstance ? everything : askableOf(client));
}

/** Returns the questions that a client can be asked. All else that it declares is left out: its changes of roots are not relayed. */
export function askableOf(client: Record<string, unknown> | undefined): Askable {
  const { elicitation, sampling, roots } = client ?? {};
  return {
    ...(isJsonObject(elicitation) && { elicitation: elicitationOf(elicitation) }),
    ...(isJsonObject(sampling) && { sampling }),
    ...(isJsonObject(roots) && { roots: {} }),
  };
}

/** Tells whether one who can be asked for this can answer a question. */
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

/** Returns true if an instance declares all that its server may be declared, so that its server shows all of its tools. */
export function declaresAll(declared: Askable, questions: readonly QuestionKind[]): boolean {
  return questions.every((kind) => declared[kind] !== undefined);
}

/** Without modes, a client means forms: the first revision with elicitation had no others. */
function elicitationOf(declared: Record<string, unknown>): Record<string, unknown> {
  const { form, url } = declared;
  if (form === undefined && url === undefined) return { form: {} };
  return { ...(form !== undefined && { form: {} }), ...(url !== undefined && { url: {} }) };
}

function only(kinds: readonly QuestionKind[], askable: Askable): Askable {
  return Object.fromEntries(Object.entries(askable).filter(([kind]) => kinds.includes(kind as QuestionKind)));
}
