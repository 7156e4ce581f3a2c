/** Prints the types of the client's requests and replies as plain TypeScript, so that a program needs no typebox to read them. */

/** The parts of a JSON schema that these schemas use. */
interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly description?: string;
}

const SIMPLE: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

/** The type of the values that the schema accepts. Throws for a schema of another kind. */
function printType(schema: Schema, indent = ""): string {
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf !== undefined) return schema.anyOf.map((each) => printType(each, indent)).join(" | ");
  if (schema.type === "array" && schema.items !== undefined) return `(${printType(schema.items, indent)})[]`;
  if (schema.type === "object") return printObject(schema, indent);
  const simple = SIMPLE[schema.type ?? ""];
  if (simple === undefined) throw new Error(`no type is known for ${JSON.stringify(schema)}`);
  return simple;
}

function printObject({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? "" : "?";
    return `${printComment(schema, inner)}${inner}${JSON.stringify(name)}${mark}: ${printType(schema, inner)};\n`;
  });
  return lines.length === 0 ? "{}" : `{\n${lines.join("")}${indent}}`;
}

const printComment = ({ description }: Schema, indent: string): string =>
  description === undefined ? "" : `${indent}/** ${description.replaceAll("*/", "*\\/").replaceAll("\n", " ")} */\n`;

/** A namespace with one constant for each schema of a module, as `typeof module.Name` reads it. */
export function printNamespace(name: string, module: Readonly<Record<string, unknown>>): string {
  const constants = Object.entries(module).flatMap(([constant, value]) => {
    if (isSchema(value)) return [`  const ${constant}: ${printType(value, "  ")};\n`];
    return isTable(value) ? [`  const ${constant}: ${printTable(value)};\n`] : [];
  });
  return `export declare namespace ${name} {\n${constants.join("")}}\n`;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;
const isSchema = (value: unknown): value is Schema => isObject(value) && "~kind" in value;
/** Schemas by name. */
const isTable = (value: unknown): value is Record<string, Schema> =>
  isObject(value) && Object.values(value).length > 0 && Object.values(value).every(isSchema);

const printTable = (table: Record<string, Schema>): string =>
  `{\n${Object.entries(table)
    .map(([name, schema]) => `    ${JSON.stringify(name)}: ${printType(schema, "    ")};\n`)
    .join("")}  }`;
