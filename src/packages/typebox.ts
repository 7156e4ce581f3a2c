/**
 * The parts of typebox that perpd uses. The package has 537 files, which take half a second of processor time to load.
 * `npm run build` puts them into this module's built file, which then loads in 20 ms.
 */
export type { Static, TObject, TProperties, TSchema, TSchemaOptions } from "typebox";
export { default } from "typebox";
export type { TLocalizedValidationError } from "typebox/error";
// Not typebox/compile: it has conversions that nobody needs here.
export { Check, Compile, Errors, type Validator } from "typebox/schema";
