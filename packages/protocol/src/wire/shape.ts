import { isAddress as isAddressText } from '../names/address.ts';
import { idPattern } from '../names/patterns.ts';

/** Whether a value is one that its schema would take as it is. */
type Check = (value: unknown) => boolean;
type TextCheck = (value: unknown) => value is string;

/** What an object must hold, and all it may. */
export interface Shape {
  required: readonly string[];
  fields: ReadonlyMap<string, Check>;
}

export const isAnything: Check = () => true;
export const isText = (value: unknown): value is string => typeof value === 'string';
export const isNumber = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value);
export const isWhole = (value: unknown): value is number => Number.isSafeInteger(value);
export const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
export const isPositive = (value: unknown): value is number => isWhole(value) && value > 0;
export const isId = matches(idPattern);
export const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && isAddressText(value);
export const isSeqs = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.length <= 10_000 && value.every(isPositive);

export function matches(pattern: RegExp): TextCheck {
  return (value): value is string => typeof value === 'string' && pattern.test(value);
}

export function isTextUpTo(length: number): TextCheck {
  return (value): value is string => typeof value === 'string' && value.length <= length;
}

export function isBetween(least: number, most: number): Check {
  return (value) => isWhole(value) && value >= least && value <= most;
}

export function isListOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

/** Of a key by that name the schema makes nothing. */
export function isRecordOf(check: Check): Check {
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !Object.hasOwn(value, '__proto__') &&
    Object.values(value).every(check);
}

export function isObjectOf(shape: Shape): Check {
  return (value) => typeof value === 'object' && value !== null && fits(value, shape);
}

export function shape(required: Record<string, Check>, optional: Record<string, Check> = {}): Shape {
  return { required: Object.keys(required), fields: new Map(Object.entries({ ...required, ...optional })) };
}

export function frame(required: Record<string, Check>, optional: Record<string, Check> = {}): Shape {
  return shape({ type: isText, ...required }, optional);
}

/** Whether an object holds what it must, and nothing else than it may. */
export function fits(object: object, { required, fields }: Shape): boolean {
  const values = object as Record<string, unknown>;
  for (const name in values) if (!fields.get(name)?.(values[name])) return false;
  for (const name of required) if (values[name] === undefined) return false;
  return true;
}
