import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { text } from "../text/catalogue.ts";

/** A part of the page whose code is loaded when it is shown first. */
export function lazily(load: () => Promise<ComponentType>): ComponentType {
  return function Lazy() {
    const [Loaded, setLoaded] = useState<ComponentType | null>(null);
    const [hasFailed, setFailed] = useState(false);
    const start = (): void => {
      setFailed(false);
      load().then(
        (component) => setLoaded(() => component),
        () => setFailed(true),
      );
    };
    useEffect(start, []);
    if (Loaded !== null) return <Loaded />;
    return (
      <p class="empty">
        {hasFailed ? text.noConnection : text.loading}
        {hasFailed && (
          <button type="button" class="mini" onClick={start}>
            {text.lists.again}
          </button>
        )}
      </p>
    );
  };
}
