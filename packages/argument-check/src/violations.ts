import type { ErrorObject } from 'ajv';
import { distance } from 'fastest-levenshtein';
import { allowsValue } from './own-keywords.ts';
import { nodeAt, type SchemaGraph, type SchemaNode } from './schema-graph.ts';
import { describeType, propertiesOf } from './schema-text.ts';
import type { SchemaValidator } from './schema-validator.ts';
import { type Violation, violationOf } from './violation-text.ts';

const maxLookedUp = 100;
const maxCandidates = 100;
const maxNameLength = 60;

/** All that is wrong. */
export interface Findings {
  violations: Violation[];
  /** Only the first is there: the rest would cost too much to find. */
  cut?: boolean;
}

/** Finds every violation. Of a union that nothing fits, those of the branch that comes nearest. Throws `OutOfSteps`. */
export function findViolations(graph: SchemaGraph, validator: SchemaValidator, value: unknown): Findings {
  let lookedUp = 0;

  function violationsOf(node: SchemaNode, inner: unknown): Violation[] {
    return validator.violations(node, inner).flatMap((error) => {
      const isUnion = error.keyword === 'anyOf' || error.keyword === 'oneOf';
      if (isUnion) return explained(error);
      const violation = violationOf(error);
      if (!violation) return [];
      const meant = lookedUp++ < maxLookedUp ? meantBy(graph, error) : undefined;
      return [meant ? { ...violation, meant } : violation];
    });
  }

  function explained({ keyword, instancePath: at, schema, data, params }: ErrorObject): Violation[] {
    const branches = schema as SchemaNode[];
    if (params.passingSchemas?.length > 1) {
      return [
        {
          pointer: at,
          text: 'must fit only one of the forms of its schema, and fits several',
          showsValue: true,
        },
      ];
    }
    const attempts = branches
      .filter((branch) => mayBe(graph, branch, data))
      .map((branch) => violationsOf(branch, data))
      .sort((a, b) => a.length - b.length);
    const [nearest, second] = attempts;
    if (nearest && nearest.length !== second?.length) {
      return nearest.map((violation) => ({ ...violation, pointer: at + violation.pointer }));
    }
    const text = `must be ${describeType(graph, { [keyword]: branches })}`;
    return [{ pointer: at, text, showsValue: true }];
  }

  return { violations: violationsOf(validator.root, value) };
}

/** Whether a branch is about values of this type at all. */
function mayBe(graph: SchemaGraph, branch: SchemaNode, value: unknown): boolean {
  if (typeof branch === 'boolean') return branch;
  const node = branch.$ref === undefined ? branch : nodeAt(graph, branch.$ref);
  return allowsValue(node, value);
}

function meantBy(graph: SchemaGraph, error: ErrorObject): Violation['meant'] {
  const { keyword, params, parentSchema, data } = error;
  if (typeof data !== 'object' || data === null || parentSchema === undefined) return undefined;
  const known = [...propertiesOf(graph, parentSchema).keys()];
  if (keyword === 'required') {
    const strangers = Object.keys(data).filter((name) => !known.includes(name));
    const given = nearest(params.missingProperty, strangers);
    return given === undefined ? undefined : { given, name: params.missingProperty };
  }
  const given = params.additionalProperty ?? params.unevaluatedProperty;
  if (typeof given !== 'string') return undefined;
  const name = nearest(
    given,
    known.filter((each) => !Object.hasOwn(data, each)),
  );
  return name === undefined ? undefined : { given, name };
}

/** The candidate that a slip of the keyboard or a habit of style lies between, if there is one. */
function nearest(name: string, candidates: string[]): string | undefined {
  if (name.length > maxNameLength) return undefined;
  const limit = Math.max(1, Math.floor(name.length / 3));
  const ranked = candidates
    .filter((candidate) => candidate.length <= maxNameLength)
    .slice(0, maxCandidates)
    .map((candidate) => ({ candidate, by: distance(plain(name), plain(candidate)) }))
    .sort((a, b) => a.by - b.by);
  const [best] = ranked;
  return best && best.by <= limit ? best.candidate : undefined;
}

/** `filePath`, `file_path` and `file-path` are one name to somebody who guesses. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}
