import { Braces, Brain, Eye, FileText, History, type LucideIcon, Waypoints, Wrench } from 'lucide-react';

/** What sets models apart; that a model takes text goes without saying. */
const icons: readonly (readonly [capability: string, icon: LucideIcon])[] = [
  ['vision', Eye],
  ['documents', FileText],
  ['tools', Wrench],
  ['structured_output', Braces],
  ['reasoning', Brain],
  ['prompt_caching', History],
  ['embeddings', Waypoints],
];

/** One icon for each, in its own place, so that models can be compared; words on hover and for screen readers. */
export function Capabilities({ of }: { readonly of: readonly string[] }) {
  return (
    <span className="flex items-center gap-2 text-muted">
      {icons.map(([capability, Icon]) => {
        const words = capability.replaceAll('_', ' ');
        if (!of.includes(capability)) return <span key={capability} className="w-[15px]" />;
        return (
          <span key={capability} title={words}>
            <Icon size={15} aria-hidden />
            <span className="sr-only">{words} </span>
          </span>
        );
      })}
    </span>
  );
}
