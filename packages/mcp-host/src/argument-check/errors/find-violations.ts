import { nearestName } from '@signalbox/protocol/internal';
import type { ErrorObject } from 'ajv';
import { nodeAt, type SchemaGraph, type SchemaNode } from '../schema/schema-graph.ts';
import { allowsValue } from '../schema/value-keywords.ts';
import type { SchemaValidator } from '../validator/schema-validator.ts';
import { describeType, propertiesOf } from './describe-schema.ts';
import { type Violation, violationOf } from './violation.ts';

const maxSuggestionsTried = 100;

/** The violations that were found. */
export interface Findings {
  violations: Violation[];
  /** True if only the first violation was looked for, because finding the others would cost too much. */
  isCut?: boolean;
}

/** Finds every violation. If no branch of a union fits, it finds those of the nearest branch. Throws `OutOfSteps`. */
export function findViolations(graph: SchemaGraph, validator: SchemaValidator, value: unknown): Findings {
  let suggestionsTried = 0;

  function violationsIn(node: SchemaNode, part: unknown): Violation[] {
    return validator.violations(node, part).flatMap((error) => {
      if (error.keyword === 'anyOf' || error.keyword === 'oneOf') return violationsOfUnion(error);
      const violation = violationOf(error);
      if (!violation) return [];
      const suggestion = suggestionsTried++ < maxSuggestionsTried ? suggestionFor(graph, error) : undefined;
      return [suggestion ? { ...violation, suggestion } : violation];
    });
  }

  function violationsOfUnion({ keyword, instancePath, schema, data, params }: ErrorObject): Violation[] {
    const branches = schema as SchemaNode[];
    const ofUnion = (text: string): Violation[] => [{ pointer: instancePath, text, showsValue: true }];
    if (params.passingSchemas?.length > 1) {
      return ofUnion('must fit only one of the forms of its schema, and fits several');
    }
    const [nearest, second] = branches
      .filter((branch) => mayAccept(graph, branch, data))
      .map((branch) => violationsIn(branch, data))
      .sort((a, b) => a.length - b.length);
    if (nearest && nearest.length !== second?.length) {
      return nearest.map((violation) => ({ ...violation, pointer: instancePath + violation.pointer }));
    }
    return ofUnion(`must be ${describeType(graph, { [keyword]: branches })}`);
  }

  return { violations: violationsIn(validator.root, value) };
}

/** Tells whether a branch may accept values of this type. */
function mayAccept(graph: SchemaGraph, branch: SchemaNode, value: unknown): boolean {
  if (typeof branch === 'boolean') return branch;
  return allowsValue(branch.$ref === undefined ? branch : nodeAt(graph, branch.$ref), value);
}

/** Finds the name that was probably meant for a missing or unknown parameter. */
function suggestionFor(graph: SchemaGraph, error: ErrorObject): Violation['suggestion'] {
  const { keyword, params, parentSchema, data } = error;
  if (typeof data !== 'object' || data === null || parentSchema === undefined) return undefined;
  const known = [...propertiesOf(graph, parentSchema).keys()];
  if (keyword === 'required') {
    const unknown = Object.keys(data).filter((name) => !known.includes(name));
    const given = probableName(params.missingProperty, unknown);
    return given === undefined ? undefined : { given, name: params.missingProperty };
  }
  const given = params.additionalProperty ?? params.unevaluatedProperty;
  if (typeof given !== 'string') return undefined;
  const missing = known.filter((each) => !Object.hasOwn(data, each));
  const name = probableName(given, missing);
  return name === undefined ? undefined : { given, name };
}

/** Callers and servers choose the names, so only so many are compared, and only short ones. */
const maxCandidates = 100;
const maxNameLength = 60;

function probableName(name: string, candidates: string[]): string | undefined {
  if (name.length > maxNameLength) return undefined;
  return nearestName(
    name,
    candidates.filter(({ length }) => length <= maxNameLength).slice(0, maxCandidates),
  );
}
