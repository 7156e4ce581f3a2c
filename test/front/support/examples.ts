import type { TObject } from "typebox";

/** The examples of an object's fields in the document. */
export function exampleOf(schema: TObject): Record<string, unknown> {
  const firstOf = ({ examples, anyOf }: WithExamples): unknown => (examples ?? anyOf?.[0]?.examples)?.[0];
  const fields = Object.entries(schema.properties as Record<string, WithExamples>);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, firstOf(field)] as const).filter(([, value]) => value !== undefined),
  );
}

interface WithExamples {
  examples?: unknown[];
  anyOf?: { examples?: unknown[] }[];
}
