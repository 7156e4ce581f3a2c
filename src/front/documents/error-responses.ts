import type { Json } from "./schemas.ts";

/** The error responses of a document. Equal responses of several operations are printed once. */
export class ErrorResponses {
  /** By its JSON text. */
  private readonly names = new Map<string, string>();
  private readonly responses: Record<string, Json> = {};

  refer(status: number, response: Json): Json {
    const text = JSON.stringify(response);
    let name = this.names.get(text);
    if (name === undefined) {
      const before = Object.keys(this.responses).filter((each) => each.startsWith(`Error${status}`));
      name = `Error${status}-${before.length + 1}`;
      this.names.set(text, name);
      this.responses[name] = response;
    }
    return { $ref: `#/components/responses/${name}` };
  }

  /** The responses that refer() has named. */
  components(): Json {
    return this.responses;
  }
}
