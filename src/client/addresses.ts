/**
 * The base URLs of one exchange: those of its leader and of its standbys. Requests go to the one that answered last. Only
 * these get credentials, whatever a refusal says about the leader's address.
 */
export class Addresses {
  private readonly urls: readonly string[];
  private at = 0;

  /** `urls`: at least one. Throws TypeError without. */
  constructor(urls: string | readonly string[]) {
    this.urls = (typeof urls === "string" ? [urls] : urls).map((url) => url.replace(/\/$/, ""));
    if (this.urls.length === 0) throw new TypeError("baseUrl: give at least one URL");
  }

  get current(): string {
    return this.urls[this.at] as string;
  }

  get count(): number {
    return this.urls.length;
  }

  /** `url` does not answer, or does not lead. `leader`: what it says about the leader's address. */
  leave(url: string, leader?: string): void {
    const named = leader === undefined ? -1 : this.urls.findIndex((each) => originOf(each) === originOf(leader));
    if (named >= 0) this.at = named;
    // Another request may have left it already.
    else if (url === this.current) this.at = (this.at + 1) % this.urls.length;
  }
}

function originOf(url: string): string {
  try {
    return new URL(url).origin;
  } catch {
    return url;
  }
}
