import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { toast } from "../state/toasts.ts";
import { text } from "../text/catalogue.ts";

/** A component whose script is read when it is first shown. */
export function Lazy<Props extends object>(props: { read: () => Promise<ComponentType<Props>>; with: Props }) {
  const { read, with: given } = props;
  const [Component, setComponent] = useState<ComponentType<Props> | null>(null);
  useEffect(() => {
    read().then(
      (found) => setComponent(() => found),
      () => toast({ key: "lazy", tone: "bad", title: text.notLoaded, detail: "" }),
    );
  }, []);
  return Component === null ? null : <Component {...given} />;
}
